// The MCP server of `connectMcp`, and its transports.

import type { Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { checkObject, describeType } from '../error/check-object.ts'
import { ToolError, ValidationError } from '../error/error.ts'
import { HttpTransport, type McpHeaders } from './http-transport.ts'
import { MAX_MESSAGE_BYTES } from './mcp-error.ts'

/** A server that runs as a child process, with stdio as the transport. */
export interface McpStdio {
  /** The program to start. */
  readonly command: string
  /** Arguments of the program. @default [] */
  readonly args?: readonly string[]
  /** Environment variables, in addition to those that the SDK passes on, such as PATH and HOME. @default {} */
  readonly env?: Readonly<Record<string, string>>
  /** Working directory of the program. @default that of this process */
  readonly cwd?: string
  /** Target of its standard error. @default 'inherit' */
  readonly stderr?: 'inherit' | 'ignore'
}

/** A server with the streamable HTTP transport. */
export interface McpHttp {
  /** URL of the server. */
  readonly url: string | URL
  /** Headers of each request. A function is called for each request. @default none */
  readonly headers?: McpHeaders
}

/** A server with a custom transport. Only a function can reopen a lost connection. */
export interface McpTransport {
  /** A transport, or a function that opens one. */
  readonly transport: Transport | (() => Transport | PromiseLike<Transport>)
}

type KeyOf<T> = T extends unknown ? keyof T : never
/** The fields of one kind, and none of the others. */
type Only<Own, Others> = Own & { readonly [Key in Exclude<KeyOf<Others>, keyof Own>]?: never }

/** The server of `connectMcp`: a command, a URL or a transport. */
export type McpServer =
  | Only<McpStdio, McpHttp | McpTransport>
  | Only<McpHttp, McpStdio | McpTransport>
  | Only<McpTransport, McpStdio | McpHttp>

/** A validated server, and how to open a transport to it. */
export interface McpEndpoint {
  /** Name for messages, without path, arguments and credentials. */
  readonly label: string
  open(): Transport | PromiseLike<Transport>
}

/**
 * Validates the server of `connectMcp`.
 * @throws {ValidationError} if `options` does not have exactly one of command, url and transport, or if that is invalid.
 */
export function endpointOf(options: McpServer): McpEndpoint {
  checkObject('connectMcp', options)
  const { command, url, transport } = options as Partial<McpStdio & McpHttp & McpTransport>
  const named = Object.entries({ command, url, transport }).filter(([, option]) => option !== undefined)
  if (named.length !== 1) {
    const found = named.map(([name]) => name).join(' and ') || 'none'
    throw new ValidationError(`connectMcp: expected one of command, url and transport, found ${found}`)
  }
  if (url !== undefined) return httpEndpoint(options as McpHttp)
  if (command !== undefined) return stdioEndpoint(options as McpStdio)
  return transportEndpoint(options as McpTransport)
}

function stdioEndpoint({ command, args = [], env, cwd, stderr = 'inherit' }: McpStdio): McpEndpoint {
  if (typeof command !== 'string' || command === '')
    throw new ValidationError('connectMcp: command: expected the name or path of a program')
  if (!Array.isArray(args))
    throw new ValidationError(`connectMcp: args: expected an array, found ${describeType(args)}`)
  return {
    label: `the MCP server ${command.split(/[\\/]/).at(-1)}`,
    open: () =>
      new StdioClientTransport({
        command,
        args: [...args],
        stderr,
        maxBufferSize: MAX_MESSAGE_BYTES,
        ...(env !== undefined && { env: { ...env } }),
        ...(cwd !== undefined && { cwd }),
      }),
  }
}

function httpEndpoint({ url, headers }: McpHttp): McpEndpoint {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new ValidationError('connectMcp: url: expected an http or https URL')
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new ValidationError('connectMcp: url: expected no credentials: pass them as headers')
  }
  return { label: `the MCP server at ${parsed.host}`, open: () => new HttpTransport(parsed, headers) }
}

function transportEndpoint({ transport }: McpTransport): McpEndpoint {
  const label = 'the MCP server'
  if (typeof transport === 'function') return { label, open: transport }
  if (typeof transport?.start !== 'function') {
    throw new ValidationError(
      `connectMcp: transport: expected a transport of the MCP SDK, found ${describeType(transport)}`,
    )
  }
  let isUsed = false
  return {
    label,
    open() {
      if (!isUsed) {
        isUsed = true
        return transport
      }
      throw new ToolError(
        'the connection to the MCP server was lost: pass transport as a function, so that it can reconnect',
        {
          code: 'mcp_connection_lost',
        },
      )
    },
  }
}
