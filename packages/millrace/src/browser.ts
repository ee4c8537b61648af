// The single import for browsers: connection, store and chat of the client.

export * from '@millrace/client'
export { applyStructuredChunk, reduceStructuredChunks } from '@millrace/protocol'
