export { type EventFormat, EventReader, formatOf, MAX_EVENT_LENGTH, readEvents, type WireEvent } from '../events.ts'
export { PeerConnection } from './connection.ts'
export { type HttpAsking, type HttpPeerOptions, HttpReply, type HttpReplyOptions, request, stopBy } from './http.ts'
export { type Peer, PeerError, type PeerReply, type PeerRequest } from './peer.ts'
