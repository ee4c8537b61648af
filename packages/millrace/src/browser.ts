// The one import for a page: the connection, the store and the chat of a client.

export * from '@millrace/client'
export { applyStructuredChunk, reduceStructuredChunks } from '@millrace/protocol'
