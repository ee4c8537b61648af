// Lists the tools of a server. An invalid tool is skipped and reported; the others stay usable.

import { setImmediate } from 'node:timers/promises'
import { MAX_TIMER_MS } from '@millrace/log/internal'
import { isObject } from '@millrace/protocol/internal'
import type { Client } from '@modelcontextprotocol/client'
import { ToolError } from '../error/error.ts'
import type { JsonSchema, Schema } from '../schema/schema.ts'
import { type ServerChecks, serverSchema } from './server-schema.ts'

/** The server's hints about a tool, by the MCP specification. Only as reliable as the server. */
export interface McpAnnotations {
  /** Title of the tool for people. */
  readonly title?: string
  /** The tool changes nothing. */
  readonly readOnlyHint?: boolean
  /** The tool may delete or overwrite data. */
  readonly destructiveHint?: boolean
  /** A repeated call with the same input has no further effect. */
  readonly idempotentHint?: boolean
  /** The tool uses things outside of the server, such as the web. */
  readonly openWorldHint?: boolean
}

/** A server's description of a tool. */
export interface McpToolInfo {
  /** Its name at the server. */
  readonly name: string
  /** Title of the tool for people. */
  readonly title?: string
  /** The server's description of the tool, for the model. */
  readonly description?: string
  /** The server's hints about the tool. */
  readonly annotations: McpAnnotations
}

/** A usable tool with its checked schemas. */
export interface ListedTool {
  readonly info: McpToolInfo
  readonly jsonSchema: JsonSchema
  readonly inputSchema: Schema
  readonly outputSchema: Schema | undefined
}

/** A skipped tool. */
export interface McpSkipped {
  /** Its name at the server, up to 100 characters. */
  readonly name: string
  /** Why it is skipped, up to 200 characters. */
  readonly reason: string
}

/** The tools of a server. */
export interface ToolList {
  readonly listed: readonly ListedTool[]
  readonly skipped: readonly McpSkipped[]
}

/** Maximum number of pages, because a list may be endless. */
export const MAX_PAGES = 64
/** Maximum number of tools of a server. */
export const MAX_TOOLS = 1000
/** Maximum length of a tool's description, in characters. */
export const MAX_DESCRIPTION_LENGTH = 32 * 1024

interface Page {
  readonly tools: readonly unknown[]
  readonly nextCursor: string | undefined
}

/** The schema of a page. Accepts any tools, because the SDK's schema rejects all if one is invalid. */
const pageSchema: Schema<Page> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      const { tools, nextCursor } = Object(value) as { tools?: unknown; nextCursor?: unknown }
      if (!Array.isArray(tools)) return { issues: [{ message: 'tools: expected an array' }] }
      return { value: { tools, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } }
    },
  },
}

/** Lists all tools of a server. @throws {ToolError} `mcp_protocol_error` if there are too many. */
export async function listTools(client: Client, checks: ServerChecks, signal: AbortSignal): Promise<ToolList> {
  const rawTools: unknown[] = []
  if (client.getServerCapabilities()?.tools !== undefined) {
    let cursor: string | undefined
    let pages = 0
    do {
      if (++pages > MAX_PAGES) throw tooManyError(`${MAX_PAGES} pages`)
      const request = { method: 'tools/list', ...(cursor !== undefined && { params: { cursor } }) }
      const { tools, nextCursor } = await client.request(request, pageSchema, { signal, timeout: MAX_TIMER_MS })
      if (rawTools.length + tools.length > MAX_TOOLS) throw tooManyError(`${MAX_TOOLS} tools`)
      rawTools.push(...tools)
      cursor = nextCursor
    } while (cursor !== undefined)
  }
  const listed = new Map<string, ListedTool>()
  const skipped: McpSkipped[] = []
  for (const tool of rawTools) {
    // Yields between tools, because checking schemas takes time.
    await setImmediate()
    signal.throwIfAborted()
    const name = nameOf(tool)
    try {
      if (listed.has(name)) throw new ToolError('another tool has the same name')
      listed.set(name, await toListedTool(name, Object(tool) as RawTool, checks))
    } catch (error) {
      skipped.push({ name: name.slice(0, 100), reason: (error as Error).message.slice(0, 200) })
    }
  }
  return { listed: [...listed.values()], skipped }
}

const tooManyError = (items: string) =>
  new ToolError(`the server’s list of tools has more than ${items}`, { code: 'mcp_protocol_error' })

interface RawTool {
  readonly title?: unknown
  readonly description?: unknown
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly annotations?: unknown
}

const nameOf = (tool: unknown): string => {
  const { name } = Object(tool) as { name?: unknown }
  return typeof name === 'string' ? name : ''
}

async function toListedTool(
  name: string,
  { title, description, inputSchema = {}, outputSchema, annotations }: RawTool,
  checks: ServerChecks,
): Promise<ListedTool> {
  if (name === '') throw new ToolError('it has no name')
  if (description !== undefined && typeof description !== 'string') throw new ToolError('its description is not text')
  if (description !== undefined && description.length > MAX_DESCRIPTION_LENGTH) {
    throw new ToolError('its description is too long')
  }
  const declared = objectOf(inputSchema, 'its input schema')
  const { type = 'object' } = declared
  if (type !== 'object') throw new ToolError('its input schema is not of type object')
  const jsonSchema = { type, ...declared }
  const hints = hintsOf(annotations)
  const displayTitle = typeof title === 'string' ? title : hints.title
  return {
    info: {
      name,
      ...(displayTitle !== undefined && { title: displayTitle }),
      ...(description !== undefined && { description }),
      annotations: hints,
    },
    jsonSchema,
    inputSchema: await checkedSchema(jsonSchema, 'its input schema', checks),
    outputSchema:
      outputSchema === undefined
        ? undefined
        : await checkedSchema(objectOf(outputSchema, 'its output schema'), 'its output schema', checks),
  }
}

function objectOf(value: unknown, label: string): JsonSchema {
  if (isObject(value)) return value as JsonSchema
  throw new ToolError(`${label} is not an object`)
}

async function checkedSchema(jsonSchema: JsonSchema, label: string, checks: ServerChecks): Promise<Schema> {
  try {
    return await serverSchema(jsonSchema, checks)
  } catch (error) {
    throw new ToolError(`${label} cannot be used: ${(error as Error).message}`)
  }
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function hintsOf(annotations: unknown): McpAnnotations {
  const fields = Object(annotations) as Readonly<Record<string, unknown>>
  const hints: Record<string, unknown> = {}
  for (const hint of HINTS) if (typeof fields[hint] === 'boolean') hints[hint] = fields[hint]
  const { title } = fields as { readonly title?: unknown }
  return typeof title === 'string' ? { ...hints, title } : hints
}
