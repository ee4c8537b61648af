// For the other packages of Millrace alone: these names may change in any release.

export { Run } from './api/run.ts'
export { interruptResponseProblem } from './api/runtime.ts'
export { checkOptions as checkRuntimeOptions } from './api/runtime-options.ts'
export type { PieceOptions, RunPiece } from './api/stream.ts'
export { KeyedQueue } from './async/keyed-queue.ts'
export { type UploadInput, uploadHashOf, uploadUnknown, uploadUrlOf, uploadUsage } from './session/upload.ts'
export { safeLogger } from './telemetry/logger.ts'
