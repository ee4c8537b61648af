/** The name of a run's main lane, unless its writer names another. */
export const MAIN_LANE = 'main'
