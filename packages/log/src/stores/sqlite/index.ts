export { type SqliteOptions, sqliteStore } from './store.ts'
