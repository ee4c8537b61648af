import type { Transport } from '@modelcontextprotocol/client'
import { expectTypeOf, test } from 'vitest'
import type { McpOptions, McpServer } from '../mcp.ts'

test('accepts the options of one kind of server only', () => {
  expectTypeOf<{ command: string; args: string[]; env: { A: string }; prefix: string }>().toExtend<McpOptions>()
  expectTypeOf<{ url: URL; headers: { a: string } }>().toExtend<McpServer>()
  expectTypeOf<{ command: string; url: string }>().not.toExtend<McpServer>()
  expectTypeOf<{ url: string; env: { A: string } }>().not.toExtend<McpServer>()
  expectTypeOf<{ command: string; headers: { a: string } }>().not.toExtend<McpServer>()
  expectTypeOf<{ transport: () => Transport; url: string }>().not.toExtend<McpServer>()
  expectTypeOf<{ prefix: string }>().not.toExtend<McpOptions>()
})
