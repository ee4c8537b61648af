export type {
  AgentName,
  AppTypes,
  AppWith,
  ClientToolName,
  ClientToolsOf,
  StateOf,
  ToolInput,
  ToolName,
  ToolOutput,
  TypesOf,
  WorkflowName,
} from './app-types.ts'
export type {
  ChatDataOf,
  DataPartOf,
  MessageOf,
  Partially,
  PartOf,
  StructuredOf,
  ToolPartOf,
  Unnamed,
} from './parts.ts'
