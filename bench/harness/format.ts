import type { Unit } from './suite.ts'

/** Three significant digits, without an exponent. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : value >= 1 ? 2 : 3)
}

/** Three significant digits with thousands separators. */
export function formatLarge(value: number): string {
  return Number.isFinite(value) ? Number(value.toPrecision(3)).toLocaleString('en') : '-'
}

/** Formats the cost of an item with its unit. Times are scaled to ns, µs, ms or s. */
export function formatCost(value: number, unit: Unit): string {
  switch (unit) {
    case 'cpu':
    case 'wall':
      return time(value)
    case 'latency':
      return time(value * 1e6)
    case 'bytes':
      return value >= 1e4 ? `${formatLarge(value / 1000)} kB` : `${formatFigure(value)} B`
    case 'times':
      return formatFigure(value)
  }
}

function time(ns: number): string {
  if (ns < 1e3) return `${formatFigure(ns)} ns`
  if (ns < 1e6) return `${formatFigure(ns / 1e3)} µs`
  return ns < 1e9 ? `${formatFigure(ns / 1e6)} ms` : `${formatFigure(ns / 1e9)} s`
}
