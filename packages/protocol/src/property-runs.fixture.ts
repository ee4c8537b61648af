/** How many runs a property gets. `npm run chaos` multiplies them. */
export { multiplied as runs } from '../../../scripts/faults/campaign.ts'
