export { encodeRecording, type Recording, RecordingDecoder } from './recording.ts'
export { ReplayChat } from './replay-chat.ts'
export { SessionLog, type SessionLogOptions, type SessionLogState } from './session-log.ts'
