/** How everybody behaves: with faults they do all sorts of things, and in the end they do what is asked of them. */
export interface Manners {
  isPolite: boolean
}
