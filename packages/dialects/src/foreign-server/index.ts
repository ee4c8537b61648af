export {
  type EventFormat,
  EventReader,
  readEvents,
  type WireEvent,
} from '../http/event-reader.ts'
export { type Computed, type HttpRequest, type HttpServerOptions, type RawRequest, request } from '../http/request.ts'
export { RequestError } from '../http/request-error.ts'
export { ForeignConnection } from './foreign-connection.ts'
export type { ForeignReply, ForeignRequest, ForeignServer } from './foreign-server.ts'
export { HttpReply, type HttpReplyOptions } from './http-reply.ts'
