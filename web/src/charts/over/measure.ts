// The three measures over message size: the time itself, and the bytes or requests per second that one
// connection achieves at that time. All derive from the same times; nothing is estimated again.
import { unitScale, value } from "../words.ts";

export type MeasureName = "latency" | "transfer" | "requests";

export interface Measure {
  name: MeasureName;
  unit: "ns" | "bytes" | "per_second";
  /** The measure of a message of `size` bytes that took `time` nanoseconds. */
  of(size: number, time: number): number;
  /** Whether a longer time gives a lower figure. */
  inverse: boolean;
  /** Axis name; `time` is `service time`, for example. */
  label(time: string): string;
  brief(time: string): string;
  /** A tick label in the unit that suits `magnitude`: `35 µs`, `1.2 GiB/s`. */
  text(value: number, magnitude?: number): string;
  /** A single figure with three digits: `35.0 µs`. */
  words(figure: number): string;
}

function text(unit: Measure["unit"], suffix: string) {
  return (figure: number, magnitude = Math.abs(figure)): string => {
    if (figure === 0) return "0";
    const scale = unitScale(unit, magnitude);
    return Number((figure / scale.divisor).toPrecision(3)) + scale.suffix + suffix;
  };
}

export const measures: Record<MeasureName, Measure> = {
  latency: {
    name: "latency",
    unit: "ns",
    of: (_, time) => time,
    inverse: false,
    label: (time) => time,
    brief: (time) => time,
    text: text("ns", ""),
    words: (figure) => value("ns", figure),
  },
  transfer: {
    name: "transfer",
    unit: "bytes",
    of: (size, time) => (size / time) * 1e9,
    inverse: true,
    brief: () => "transfer rate",
    label: (time) => `transfer rate: size ÷ ${time}`,
    text: text("bytes", "/s"),
    words: (figure) => `${value("bytes", figure)}/s`,
  },
  requests: {
    name: "requests",
    unit: "per_second",
    of: (_, time) => 1e9 / time,
    inverse: true,
    brief: () => "requests in a second",
    label: (time) => `requests one after another in a second: 1 ÷ ${time}`,
    text: text("per_second", ""),
    words: (figure) => value("per_second", figure),
  },
};
