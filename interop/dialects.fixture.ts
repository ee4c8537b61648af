import type { Dialect } from '@millrace/dialects'
import { agUiDialect } from '@millrace/dialects/ag-ui'
import { aiSdkDialect } from '@millrace/dialects/ai-sdk'
import { helixDialect } from '@millrace/dialects/helix'
import { kortyxDialect } from '@millrace/dialects/kortyx'
import { muiDialect } from '@millrace/dialects/mui'
import { tanstackAgUiDialect, tanstackDialect } from '@millrace/dialects/tanstack'

/** Every dialect. */
export const DIALECTS = [
  muiDialect,
  tanstackDialect,
  tanstackAgUiDialect,
  aiSdkDialect,
  agUiDialect,
  kortyxDialect,
  helixDialect,
] as unknown as readonly Dialect<unknown>[]
