// For the other packages of Millrace alone: these names may change in any release.

export { checkOptions as checkRuntimeOptions } from './api/runtime-options.ts'
export type { PieceOptions, RunPiece } from './api/stream.ts'
export { type NewUpload, uploadIn, uploadUnknown, uploadUrlOf } from './session/upload.ts'
export { guarded } from './telemetry/logger.ts'
