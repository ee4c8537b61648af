import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measured } from '../harness/standing.ts'
import { charts } from './charts.ts'
import { growthChart } from './growth-chart.ts'
import { DOCS, writePage } from './page.ts'
import { ratioChart } from './ratio-chart.ts'
import { load, type Results, save } from './results.ts'

const IMAGES = join(DOCS, 'images')

function write(name: string, drawn: string): string {
  mkdirSync(IMAGES, { recursive: true })
  writeFileSync(join(IMAGES, `${name}.svg`), drawn)
  return `docs/images/${name}.svg`
}

/** Draws the growth charts with all points measured. Returns the files. */
export function drawGrowth(measured: Measured): string[] {
  return charts.flatMap(chart => {
    const drawn = growthChart(chart, measured)
    return drawn === undefined ? [] : [write(chart.name, drawn)]
  })
}

/** Saves the standings and writes them into the page and the bar chart. Returns the files. */
export function publish(results: Results): string[] {
  save(results)
  // Reads the saved, rounded numbers, so that page, chart and file agree.
  const saved = load()
  writePage(saved)
  return ['bench/results/standings.json', 'docs/performance.md', write('ratios', ratioChart(saved.standings))]
}
