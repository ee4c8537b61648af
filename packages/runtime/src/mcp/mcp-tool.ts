// A tool whose calls an MCP server executes.

import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { Json } from '@millrace/protocol'
import type { CallToolResult, Tool as SdkTool } from '@modelcontextprotocol/client'
import { type Tool, tool } from '../define/tool.ts'
import { ToolError } from '../error/error.ts'
import { type Schema, validate } from '../schema/schema.ts'
import type { Connection } from './connection.ts'
import type { ListedTool } from './list-tools.ts'
import { approvalFor, type McpApproval } from './mcp-approval.ts'
import { truncateText } from './mcp-error.ts'
import { withProgress } from './with-progress.ts'

/** The field of `_meta` with the idempotency key of a call. */
export const IDEMPOTENCY_KEY = 'millrace/idempotencyKey'

export interface McpToolSettings {
  readonly connection: Connection
  /** The name for the model. */
  readonly name: string
  readonly timeoutMs: number
  readonly approval: McpApproval | undefined
}

/** Creates a tool that calls a server. */
export function mcpTool({ connection, name, timeoutMs, approval }: McpToolSettings, listed: ListedTool): Tool {
  const { info, jsonSchema, inputSchema, outputSchema } = listed
  // Without the output schema the SDK does not check the output; `outputOf` does, with a better error.
  const toolDefinition = { name: info.name, inputSchema: jsonSchema } as SdkTool
  return tool({
    name,
    ...(info.description !== undefined && { description: info.description }),
    ...(info.title !== undefined && { title: info.title }),
    inputSchema,
    jsonSchema,
    timeoutMs,
    ...(approval !== undefined && { approval: approvalFor(info, approval) }),
    async *execute(input, { abortSignal, idempotencyKey }) {
      const params = {
        name: info.name,
        arguments: input as Record<string, unknown>,
        _meta: { [IDEMPOTENCY_KEY]: idempotencyKey },
      }
      const result = yield* withProgress(onprogress =>
        connection.ask(
          (client, signal) => client.callTool(params, { signal, onprogress, timeout: MAX_TIMER_MS, toolDefinition }),
          abortSignal,
        ),
      )
      return outputOf(result, outputSchema)
    },
  })
}

/** The output of a call: the structured content, else the text, else all content. @throws {ToolError} if the call failed. */
async function outputOf(result: CallToolResult, schema: Schema | undefined): Promise<Json> {
  const { content, structuredContent, isError } = result
  if (isError) throw new ToolError(truncateText(textOf(content) || failureText(structuredContent)))
  if (schema !== undefined) {
    const validation = await validate(schema, structuredContent)
    if ('problem' in validation) {
      const problem = structuredContent === undefined ? 'it has no structured content' : validation.problem
      throw new ToolError(`the output does not match the schema that the server declared: ${problem}`, {
        code: 'tool_output_invalid',
      })
    }
  }
  if (structuredContent !== undefined) return structuredContent as Json
  if (content.length === 0) return null
  return content.every(({ type }) => type === 'text') ? textOf(content) : (content as unknown as Json)
}

const textOf = (content: CallToolResult['content']): string =>
  content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')

const failureText = (structured: unknown): string =>
  structured === undefined ? 'the tool failed without a message' : JSON.stringify(structured)
