// Only for the other packages of Millrace: these names may change in any release. The order of the groups is the order of the modules in
// a bundle, as in `index.ts`.

export { BOUNDARY_TYPES } from './entry/boundary.ts'
export { targetOf } from './entry/coalesce.ts'
export { isObject } from './json/json.ts'
export { MAX_JSON_DEPTH } from './json/json-parser.ts'
export {
  DraftTracker,
  endsDraft,
  isSameLane,
  type LaneDraft,
  type LaneEntry,
  type LaneId,
  laneKeyOf,
} from './lane/draft-tracker.ts'
export { MAIN_LANE } from './lane/main-lane.ts'
export { LineSplitter } from './wire/line-splitter.ts'

// Checks and the catalogue

export { type ChunkGroup, groupOf } from './catalogue/catalogue.ts'
export { excerpt } from './error/excerpt.ts'
export { FOLD_VERSION } from './fold/view.ts'
export { checkChunk, checkOrigin } from './validate/validate.ts'
