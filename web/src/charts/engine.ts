// The chart library, reduced to the parts that our charts use.
import { BarChart, CustomChart, HeatmapChart, LineChart, RadarChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  RadarComponent,
  TooltipComponent,
} from "echarts/components";
import { init, setPlatformAPI, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  AriaComponent,
  BarChart,
  CustomChart,
  DataZoomComponent,
  GraphicComponent,
  GridComponent,
  HeatmapChart,
  LegendComponent,
  LineChart,
  RadarChart,
  RadarComponent,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
]);

export { init, setPlatformAPI };
