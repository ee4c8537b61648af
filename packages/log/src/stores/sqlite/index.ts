export { type SqliteOptions, sqliteStore } from './sqlite-store.ts'
