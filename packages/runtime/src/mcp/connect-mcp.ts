import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { VersionNegotiationOptions } from '@modelcontextprotocol/client'
import type { Tool } from '../define/tool.ts'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { consoleLogger, type Logger, safeLogger } from '../telemetry/logger.ts'
import { Connection } from './connection.ts'
import { endpointOf, type McpServer } from './endpoint.ts'
import { legalToolNames } from './legal-tool-names.ts'
import { listTools, type McpSkipped, type McpToolInfo, type ToolList } from './list-tools.ts'
import type { McpApproval } from './mcp-approval.ts'
import { connectTimeoutError } from './mcp-error.ts'
import { mcpTool } from './mcp-tool.ts'
import { acquireChecker } from './shared-checker.ts'

/** Options of a connection besides the server. */
interface ConnectionOptions {
  /** The tools to use, by their names at the server or by a predicate. @default all tools */
  readonly include?: readonly string[] | ((tool: McpToolInfo) => boolean)
  /**
   * Prefix of tool names for the model, so that two servers may have tools with the same name: up to 32 letters, digits,
   * `_` and `-`.
   * @default ''
   */
  readonly prefix?: string
  /** Whether calls need approval. A rule also gets the server's description of the tool. @default false */
  readonly approval?: McpApproval
  /** Timeout of a call, in ms. @default 60_000 */
  readonly timeoutMs?: number
  /** Timeout of connecting and of listing tools, in ms. @default 30_000 */
  readonly connectTimeoutMs?: number
  /** The MCP SDK's option for negotiating the protocol version. @default the default of the SDK */
  readonly versionNegotiation?: VersionNegotiationOptions
  /** Receives warnings and the causes of errors. @default consoleLogger */
  readonly logger?: Logger
}

/** Options of `connectMcp`: one server, and how to use its tools. */
export type McpOptions = McpServer & ConnectionOptions

/** The tools of a server and their connection. */
export interface Mcp extends AsyncDisposable {
  /** The tools of the last listing, for the `tools` of an agent. */
  readonly tools: readonly Tool[]
  /** Tools of the server that cannot be used, and names in `include` that it does not have. */
  readonly skipped: readonly McpSkipped[]
  /** Lists the tools again. Keeps the previous ones if that fails. @throws {MillraceError} if the server does not answer. */
  refresh(): Promise<readonly Tool[]>
  /** Closes the connection and the server process. Calls in flight and later ones fail with `mcp_closed`. */
  close(): Promise<void>
}

/** Default timeout of a call, in ms. */
export const CALL_TIMEOUT_MS = 60_000
/** Default timeout of connecting, in ms. */
export const CONNECT_TIMEOUT_MS = 30_000
/** Maximum length of `prefix`, in characters. */
export const MAX_PREFIX_LENGTH = 32
const PREFIX_PATTERN = new RegExp(`^[A-Za-z0-9_-]{0,${MAX_PREFIX_LENGTH}}$`)

/**
 * Connects to an MCP server and lists its tools.
 * @throws {ValidationError} if an option is invalid.
 * @throws {MillraceError} `mcp_unreachable`, `mcp_unauthorized` or `mcp_protocol_error` if the tools cannot be listed.
 */
export async function connectMcp(options: McpOptions): Promise<Mcp> {
  const server = endpointOf(options)
  const { include, prefix = '', timeoutMs = CALL_TIMEOUT_MS, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  const { approval, logger: applicationLogger = consoleLogger } = options
  checkTimeout('timeoutMs', timeoutMs)
  checkTimeout('connectTimeoutMs', connectTimeoutMs)
  if (typeof prefix !== 'string' || !PREFIX_PATTERN.test(prefix)) {
    throw new ValidationError(`connectMcp: prefix: expected up to ${MAX_PREFIX_LENGTH} letters, digits, _ and -`)
  }
  if (include !== undefined && typeof include !== 'function' && !Array.isArray(include)) {
    throw new ValidationError(`connectMcp: include: expected names or a function, found ${describeType(include)}`)
  }
  const logger = safeLogger(applicationLogger)
  const { checker, release } = acquireChecker()
  const checks = { checker, server: server.label }
  const connection = new Connection({ server, connectTimeoutMs, versionNegotiation: options.versionNegotiation })
  let current: Pick<Mcp, 'tools' | 'skipped'> = { tools: [], skipped: [] }
  // Includes the time of opening a connection.
  const withConnectTimeout = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(connectTimeoutError(server.label, connectTimeoutMs)), connectTimeoutMs)
    try {
      return await work(timeout.signal)
    } finally {
      clearTimeout(timer)
    }
  }
  const list = async () => {
    const listing = await withConnectTimeout(signal =>
      connection.ask((client, aborted) => listTools(client, checks, aborted), signal),
    )
    const names = legalToolNames(
      listing.listed.map(({ info }) => info.name),
      prefix,
    )
    const { listed, skipped } = selectTools(listing, include)
    for (const { name, reason } of skipped) {
      const isReported = current.skipped.some(other => other.name === name && other.reason === reason)
      if (!isReported) logger.warn('a tool of an MCP server was skipped', { name, reason })
    }
    const tools = listed.map(tool =>
      mcpTool({ connection, timeoutMs, approval, name: names.get(tool.info.name) as string }, tool),
    )
    return { tools, skipped }
  }
  const close = async () => {
    await Promise.all([connection.close(), release()])
  }
  try {
    current = await list()
  } catch (error) {
    // Does not wait for a process that is slow to exit.
    void close()
    throw error
  }
  return {
    get tools() {
      return current.tools
    },
    get skipped() {
      return current.skipped
    },
    async refresh() {
      current = await list()
      return current.tools
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function selectTools({ listed, skipped }: ToolList, include: McpOptions['include']): ToolList {
  if (include === undefined) return { listed, skipped }
  if (typeof include === 'function') return { listed: listed.filter(({ info }) => include(info)), skipped }
  const names = new Set(include)
  const present = new Set([...listed.map(({ info }) => info.name), ...skipped.map(({ name }) => name)])
  const missing = [...names].filter(name => !present.has(name))
  return {
    listed: listed.filter(({ info }) => names.has(info.name)),
    skipped: [
      ...skipped.filter(({ name }) => names.has(name)),
      ...missing.map(name => ({ name, reason: 'the server has no such tool' })),
    ],
  }
}

function checkTimeout(option: string, value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS) return
  throw new ValidationError(`connectMcp: ${option}: expected milliseconds above 0 and at most ${MAX_TIMER_MS}`)
}
