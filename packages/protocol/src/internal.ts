// Only for the other packages of Millrace: these names may change in any release.

export { targetOf } from './entry/coalesce.ts'
export type { LedgerView } from './fold/ledger.ts'
export { isObject } from './json/json.ts'
export { MAX_JSON_DEPTH } from './json/json-parser.ts'
export { endsDraft, isSameLane, laneKeyOf } from './lane/draft-tracker.ts'
export { LineSplitter } from './wire/line-splitter.ts'
