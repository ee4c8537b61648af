import type { VersionNegotiationOptions } from '@modelcontextprotocol/client'
import type { Tool } from '../define/tool.ts'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { consoleLogger, guarded, type Logger } from '../telemetry/logger.ts'
import { Connection } from './connection.ts'
import { endpointOf, type McpServer } from './endpoint.ts'
import { legalToolNames } from './legal-tool-names.ts'
import { listTools, type McpSkipped, type McpToolInfo, type ToolList } from './list-tools.ts'
import type { McpApproval } from './mcp-approval.ts'
import { connectTimeoutError, MAX_TIMER_MS } from './mcp-error.ts'
import { mcpTool } from './mcp-tool.ts'

export type McpOptions = McpServer & {
  /** Which tools are wanted, by their names at the server or by a rule; all, if nothing is said. */
  readonly include?: readonly string[] | ((tool: McpToolInfo) => boolean)
  /** Stands before each name that the model is told, so that two servers may have a tool of one name. */
  readonly prefix?: string
  /** Whether a person has to approve calls; a rule is also told what the server says of the tool. */
  readonly approval?: McpApproval
  /** The longest time that a call may take, in milliseconds. */
  readonly timeoutMs?: number
  /** The longest time that opening a connection may take, in milliseconds. */
  readonly connectTimeoutMs?: number
  /** How the version of the protocol is agreed on, as the SDK has it. */
  readonly versionNegotiation?: VersionNegotiationOptions
  readonly logger?: Logger
}

/** A server's tools, and the connection behind them. */
export interface Mcp extends AsyncDisposable {
  /** The tools, as they were when they were last asked for: an agent's as they are, or beside others. */
  readonly tools: readonly Tool[]
  /** What the server told and cannot be used, and what was wanted and is not there. */
  readonly skipped: readonly McpSkipped[]
  /** Asks for the tools again; where that fails, those of before stay. */
  refresh(): Promise<readonly Tool[]>
  /** Ends the connection and the process behind it; calls under way fail as `mcp_closed`, and so do later ones. */
  close(): Promise<void>
}

/** How long a call may take, if nothing is said. */
export const CALL_TIMEOUT_MS = 60_000
/** How long opening a connection may take, if nothing is said. */
export const CONNECT_TIMEOUT_MS = 30_000
export const MAX_PREFIX_LENGTH = 32
const PREFIX = new RegExp(`^[A-Za-z0-9_-]{0,${MAX_PREFIX_LENGTH}}$`)

/** Connects to an MCP server and gives its tools; fails typed where the server cannot be reached or does not answer. */
export async function connectMcp(options: McpOptions): Promise<Mcp> {
  const server = endpointOf(options)
  const { include, prefix = '', timeoutMs = CALL_TIMEOUT_MS, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  const { approval, logger: given = consoleLogger } = options
  checkTime('timeoutMs', timeoutMs)
  checkTime('connectTimeoutMs', connectTimeoutMs)
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    throw new ValidationError(`connectMcp: prefix: expected up to ${MAX_PREFIX_LENGTH} letters, digits, _ and -`)
  }
  if (include !== undefined && typeof include !== 'function' && !Array.isArray(include)) {
    throw new ValidationError(`connectMcp: include: expected names or a function, found ${describeType(include)}`)
  }
  const logger = guarded(given)
  const connection = new Connection({ server, connectTimeoutMs, versionNegotiation: options.versionNegotiation })
  let current: Pick<Mcp, 'tools' | 'skipped'> = { tools: [], skipped: [] }
  // Opening a connection takes of the same time.
  const inTime = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(connectTimeoutError(server.label, connectTimeoutMs)), connectTimeoutMs)
    try {
      return await work(late.signal)
    } finally {
      clearTimeout(timer)
    }
  }
  const list = async () => {
    const listing = await inTime(signal => connection.ask(listTools, signal))
    const names = legalToolNames(
      listing.listed.map(({ info }) => info.name),
      prefix,
    )
    const { listed, skipped } = selectTools(listing, include)
    for (const { name, reason } of skipped) {
      const isKnown = current.skipped.some(known => known.name === name && known.reason === reason)
      if (!isKnown) logger.warn('a tool of an MCP server is left out', { name, reason })
    }
    const tools = listed.map(tool =>
      mcpTool({ connection, timeoutMs, approval, name: names.get(tool.info.name) as string }, tool),
    )
    return { tools, skipped }
  }
  try {
    current = await list()
  } catch (error) {
    // A process that does not want to go is not waited for.
    void connection.close()
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
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

function selectTools({ listed, skipped }: ToolList, include: McpOptions['include']): ToolList {
  if (include === undefined) return { listed, skipped }
  if (typeof include === 'function') return { listed: listed.filter(({ info }) => include(info)), skipped }
  const names = new Set(include)
  const there = new Set([...listed.map(({ info }) => info.name), ...skipped.map(({ name }) => name)])
  const missing = [...names].filter(name => !there.has(name))
  return {
    listed: listed.filter(({ info }) => names.has(info.name)),
    skipped: [
      ...skipped.filter(({ name }) => names.has(name)),
      ...missing.map(name => ({ name, reason: 'the server has no such tool' })),
    ],
  }
}

function checkTime(what: string, value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS) return
  throw new ValidationError(`connectMcp: ${what}: expected milliseconds from above 0 to ${MAX_TIMER_MS}`)
}
