// Colours, dashes and marks. Hues are those of Okabe and Ito, darkened or lightened to suit the background.
// The baseline is always neutral. Variants never differ by colour alone: each has its own mark and dash.
import type { ThemeName } from "./types.ts";

export interface Theme {
  name: ThemeName;
  ground: string;
  ink: string;
  quiet: string;
  faint: string;
  grid: string;
  margin: string;
  better: string;
  worse: string;
  neutral: string;
  hues: readonly string[];
  diverging: readonly [low: string, middle: string, high: string];
  fill: number;
}

const LIGHT: Theme = {
  name: "light",
  ground: "#ffffff",
  ink: "#1d2129",
  quiet: "#5a6270",
  faint: "#9aa2ae",
  grid: "#e4e7ec",
  margin: "#0072b214",
  better: "#00755a",
  worse: "#b94700",
  neutral: "#474d57",
  hues: ["#0072b2", "#d55e00", "#009e73", "#b8588f", "#c88700", "#3a97cf"],
  diverging: ["#2a78b8", "#f4f5f7", "#d8691f"],
  fill: 0.16,
};

const DARK: Theme = {
  name: "dark",
  ground: "#15181e",
  ink: "#e6e9ee",
  quiet: "#a3acb9",
  faint: "#6d7683",
  grid: "#2a2f38",
  margin: "#56b4e91c",
  better: "#3ccfa3",
  worse: "#ff9a57",
  neutral: "#c8ced8",
  hues: ["#4da6e8", "#ff8a47", "#2fcf9f", "#e39bc8", "#f0b429", "#8fd0f5"],
  diverging: ["#3f9be0", "#262b33", "#f07f33"],
  fill: 0.22,
};

const PRINT: Theme = {
  ...LIGHT,
  name: "print",
  ink: "#000000",
  quiet: "#333333",
  faint: "#777777",
  grid: "#d6d6d6",
  margin: "#0000000f",
  better: "#00543f",
  worse: "#8f3200",
  neutral: "#000000",
  hues: ["#005a8e", "#b84e00", "#007a58", "#8f3d6d", "#946300", "#2a7cad"],
  fill: 0.12,
};

export const themes: Record<ThemeName, Theme> = { light: LIGHT, dark: DARK, print: PRINT };

export const FONT = "Inter, system-ui, sans-serif";

export interface Look {
  color: string;
  dash: number[] | "solid";
  symbol: string;
  /** Hollow marks tell the second use of a symbol from the first. */
  hollow: boolean;
}

const INVERTED = "path://M0,0L10,0L5,9Z";
const CROSS = "path://M1,0L5,4L9,0L10,1L6,5L10,9L9,10L5,6L1,10L0,9L4,5L0,1Z";
const PLUS = "path://M4,0H6V4H10V6H6V10H4V6H0V4H4Z";
const STAR = "path://M5,0L6.5,3.5L10,3.8L7.4,6.2L8.2,10L5,8L1.8,10L2.6,6.2L0,3.8L3.5,3.5Z";

const SYMBOLS = ["circle", "rect", "triangle", "diamond", INVERTED, PLUS, STAR, CROSS];
const DASHES: readonly (number[] | "solid")[] = [
  "solid",
  "solid",
  [7, 3],
  [2, 2.5],
  [9, 3, 2, 3],
  [13, 4],
  [4, 2, 1, 2, 1, 2],
];

/** The look of the variant at index `place`; 0 is the baseline. */
export function look(theme: Theme, place: number): Look {
  const hues = theme.hues.length;
  return {
    color: place === 0 ? theme.neutral : (theme.hues[(place - 1) % hues] ?? theme.neutral),
    // There are fewer hues than variants may need: a colour that is used again gets another dash and symbol.
    dash: DASHES[(place + 3 * Math.floor(Math.max(0, place - 1) / hues)) % DASHES.length] ?? "solid",
    symbol: SYMBOLS[place % SYMBOLS.length] ?? "circle",
    hollow: Math.floor(place / SYMBOLS.length) % 2 === 1,
  };
}

/** Interpolates between two colours of the form `#rrggbb`; `share` from 0 to 1. */
export function between(from: string, to: string, share: number): string {
  const part = (color: string, at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  const mix = (at: number) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * share);
  return `#${[1, 3, 5].map((at) => mix(at).toString(16).padStart(2, "0")).join("")}`;
}

/** Whether dark text is more readable than light text on this colour (by WCAG's relative luminance). */
export function isBright(color: string): boolean {
  const linear = (at: number) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5) > 0.22;
}
