export {
  type EventFormat,
  EventReader,
  formatOf,
  MAX_EVENT_LENGTH,
  readEvents,
  type WireEvent,
} from '../http/event-reader.ts'
export { type HttpAsking, type HttpPeerOptions, request, stopBy } from '../http/request.ts'
export { RequestError } from '../http/request-error.ts'
export { PeerConnection } from './foreign-connection.ts'
export type { Peer, PeerReply, PeerRequest } from './foreign-server.ts'
export { HttpReply, type HttpReplyOptions } from './http-reply.ts'
