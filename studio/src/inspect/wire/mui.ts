// By itself, so that it is loaded when somebody wants to see it: the client has another piece of the same package from the start.
export { muiDialect } from '@millrace/dialects/mui'
