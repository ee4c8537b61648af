import { multiplied } from '../../../scripts/faults/campaign.ts'

/**
 * Every nth item from an offset on, and those at the indices `always`. `npm run chaos -- <factor>` divides n by the factor, down to every
 * item.
 */
export function everyNth<Item>(
  items: readonly Item[],
  n: number,
  offset = 0,
  always: ReadonlySet<number> = new Set(),
): Item[] {
  const step = Math.max(1, Math.round(n / multiplied(1)))
  return items.filter((_, index) => index % step === offset % step || always.has(index))
}
