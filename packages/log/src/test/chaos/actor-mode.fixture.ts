/** Behaviour of the actors: with faults they do anything, at the end they only complete open work. */
export interface ActorMode {
  isFinishing: boolean
}
