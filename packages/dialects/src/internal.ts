// For the other packages of Millrace alone: these names may change in any release.

export { distinctId, foreignId } from './dialect/distinct-id.ts'
export { RepeatedText } from './foreign-server/replay-filter.ts'
export { jsonEventOf } from './http/event-reader.ts'
export {
  type Computed,
  computed,
  type HttpServerOptions,
  onAbort,
  type RawRequest,
  send,
  unlessAborted,
} from './http/request.ts'
export { failureOf } from './http/request-error.ts'
