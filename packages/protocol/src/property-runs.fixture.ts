/** The number of runs of a property. `npm run chaos` multiplies it. */
export { multiplied as runs } from '../../../scripts/faults/campaign.ts'
