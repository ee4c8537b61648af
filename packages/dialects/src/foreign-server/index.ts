export {
  type EventFormat,
  EventReader,
  formatOf,
  MAX_EVENT_LENGTH,
  readEvents,
  type WireEvent,
} from '../http/event-reader.ts'
export { PeerConnection } from './foreign-connection.ts'
export { type Peer, PeerError, type PeerReply, type PeerRequest } from './foreign-server.ts'
export {
  type HttpAsking,
  type HttpPeerOptions,
  HttpReply,
  type HttpReplyOptions,
  request,
  stopBy,
} from './http-reply.ts'
