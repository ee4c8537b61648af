// A separate module, so that it loads on demand: the client already imports another part of the same package.
export { muiDialect } from '@millrace/dialects/mui'
