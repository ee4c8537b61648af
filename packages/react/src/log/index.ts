'use client'

export * from '@millrace/client/log'
export { useLog, useLogState } from './use-log.ts'
