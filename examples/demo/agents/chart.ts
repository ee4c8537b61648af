/** A bar chart as SVG, in bytes, as an image model returns an image. */
export function chartOf(values: readonly number[]): Uint8Array {
  const bars = values.map((value, at) => {
    const height = Math.max(value, 1) * 2
    return `<rect x="${at * 32 + 4}" y="${100 - height}" width="24" height="${height}" fill="#3b82f6"/>`
  })
  const width = values.length * 32
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="100">${bars.join('')}</svg>`
  return new TextEncoder().encode(svg)
}
