// What is drawn against the size of a message, and in which unit: the time itself, or what one connection gets through in it.
// The same figures, seen three ways; nothing is estimated anew.
import { unitScale, value } from "../words.ts";

export type MeasureName = "latency" | "transfer" | "requests";

export interface Measure {
  name: MeasureName;
  unit: "ns" | "bytes" | "per_second";
  /** Of a message of so many bytes that took so many nanoseconds. */
  of(size: number, time: number): number;
  /** Whether a longer time makes it less. */
  inverse: boolean;
  /** Its name on an axis, of a time by its name: `service time`. */
  label(time: string): string;
  /** The same where there is little room. */
  brief(time: string): string;
  /** A figure on an axis, in the unit of `magnitude`: `35 µs`, `1.2 GiB/s`. */
  text(value: number, magnitude?: number): string;
  /** A figure by itself, with three digits: `35.0 µs`. */
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
