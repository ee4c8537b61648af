import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measured } from '../harness/standing.ts'
import { charts } from './charts.ts'
import { growthChart } from './growth.ts'
import { DOCS, writePage } from './page.ts'
import { ratioChart } from './ratios.ts'
import { load, type Results, save } from './results.ts'

const IMAGES = join(DOCS, 'images')

function write(name: string, drawn: string): string {
  mkdirSync(IMAGES, { recursive: true })
  writeFileSync(join(IMAGES, `${name}.svg`), drawn)
  return `docs/images/${name}.svg`
}

/** Draws each growth curve of which all was measured; returns the files. */
export function drawGrowth(measured: Measured): string[] {
  return charts.flatMap(chart => {
    const drawn = growthChart(chart, measured)
    return drawn === undefined ? [] : [write(chart.name, drawn)]
  })
}

/** Keeps all of the one table, and shows it: as bars, and in the page. Returns the files. */
export function publish(results: Results): string[] {
  save(results)
  // As it was kept, so that whoever looks at that finds the same.
  const kept = load()
  writePage(kept)
  return ['bench/results/standings.json', 'docs/performance.md', write('ratios', ratioChart(kept.stands))]
}
