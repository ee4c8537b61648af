import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type BlobRef,
  type Entry,
  type entryFields,
  type GuestOrigin,
  isGuest,
  type Origin,
  type origins,
  type WriterOrigin,
} from '../entry/entry.ts'
import type { EntriesFrame, Frame, frames } from '../frame/frame.ts'
import type { Json, JsonObject } from '../json/json.ts'
import type {
  Chunk,
  ChunkOf,
  ChunkType,
  Content,
  DataChunk,
  FieldsOf,
  FinishReason,
  Operation,
  Question,
  Usage,
} from './chunk.ts'
import { isData, isTextDelta, isToolOutputAvailable } from './guards.ts'

// These tests are checked at compile time.

type Plain<T> = { [K in keyof T]: T[K] }

describe('the types derived from the table', () => {
  it('have the fields of their row, with `?` as optional', () => {
    expectTypeOf<ChunkOf<'text-delta'>>().toEqualTypeOf<{
      type: 'text-delta'
      id: string
      delta: string
      providerMetadata?: JsonObject
    }>()
    expectTypeOf<ChunkOf<'run-finished'>>().toEqualTypeOf<{
      type: 'run-finished'
      status: 'completed' | 'failed' | 'interrupted' | 'aborted'
      checkpointId?: string
      reason?: string
      notifyBy?: number
      line?: string
    }>()
    expectTypeOf<ChunkOf<'state-patch'>>().toEqualTypeOf<{ type: 'state-patch'; patches: Operation[] }>()
    expectTypeOf<ChunkOf<'step-finish'>['warnings']>().toEqualTypeOf<Json[] | undefined>()
    expectTypeOf<DataChunk>().toEqualTypeOf<{
      type: `data-${string}`
      data: Json
      id?: string
      transient?: boolean
    }>()
  })

  it('are discriminated by `kind` if a row has kinds', () => {
    type Common = { type: 'structured-data'; streamId: string; dataType: string }
    type More = { schemaId?: string; schemaVersion?: string; id?: string; node?: string }
    expectTypeOf<ChunkOf<'structured-data'>>().toEqualTypeOf<
      | Plain<Common & More & { kind: 'set'; path: string; value: Json }>
      | Plain<Common & More & { kind: 'append'; path: string; items: Json[] }>
      | Plain<Common & More & { kind: 'text-delta'; path: string; delta: string }>
      | Plain<Common & More & { kind: 'final'; data: Json }>
    >()
  })

  it('are discriminated by `type`', () => {
    expectTypeOf<Exclude<Chunk['type'], `data-${string}`>>().toEqualTypeOf<ChunkType>()
    expectTypeOf<Extract<Chunk, { type: 'output' }>>().toEqualTypeOf<{ type: 'output'; output: Json }>()
  })

  it('are exported by name if fields refer to them', () => {
    expectTypeOf<FinishReason>().toEqualTypeOf<
      'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other'
    >()
    expectTypeOf<Usage['inputTokens']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Extract<Operation, { op: 'move' }>>().toEqualTypeOf<{ op: 'move'; from: string; path: string }>()
    expectTypeOf<Question['kind']>().toEqualTypeOf<'text' | 'choice' | 'multi-choice' | 'form'>()
    expectTypeOf<Extract<Content, { type: `data-${string}` }>>().toEqualTypeOf<{ type: `data-${string}`; data: Json }>()
  })

  it('are narrowed by the guards', () => {
    const narrow = (chunk: Chunk): void => {
      if (isTextDelta(chunk)) expectTypeOf(chunk).toEqualTypeOf<ChunkOf<'text-delta'>>()
      if (isToolOutputAvailable(chunk)) expectTypeOf(chunk.preliminary).toEqualTypeOf<boolean | undefined>()
      if (isData(chunk)) expectTypeOf(chunk.data).toEqualTypeOf<Json>()
    }
    expectTypeOf(narrow).returns.toEqualTypeOf<void>()
  })
})

describe('the interfaces next to a table', () => {
  type Entries = typeof frames.entries
  type FrameOf<Type extends keyof typeof frames> = Plain<{ type: Type } & FieldsOf<(typeof frames)[Type]>>

  it('agree with the fields of each frame', () => {
    expectTypeOf<Frame['type']>().toEqualTypeOf<keyof typeof frames>()
    type Simple = Exclude<keyof typeof frames, 'entries'>
    type FromTable = { [Type in Simple]: FrameOf<Type> }
    expectTypeOf<{ [Type in Simple]: Plain<Extract<Frame, { type: Type }>> }>().toEqualTypeOf<FromTable>()
    expectTypeOf<Plain<Omit<EntriesFrame, 'type' | 'after' | 'entries'>>>().toEqualTypeOf<
      Plain<FieldsOf<Omit<Entries, 'after' | 'entries'>>>
    >()
    expectTypeOf<EntriesFrame['after'] | undefined>().toEqualTypeOf<FieldsOf<Entries>['after']>()
    expectTypeOf<EntriesFrame['entries']>().toEqualTypeOf<Entry[]>()
  })

  it('agree with the fields of an entry and of its origin', () => {
    type Place = Omit<typeof entryFields, 'origin' | 'chunk'>
    expectTypeOf<Plain<Omit<Entry, 'origin' | 'chunk'>>>().toEqualTypeOf<Plain<FieldsOf<Place>>>()
    expectTypeOf<keyof Entry>().toEqualTypeOf<keyof typeof entryFields>()
    expectTypeOf<Plain<Omit<WriterOrigin, 'guest'>>>().toEqualTypeOf<FieldsOf<typeof origins.writer>>()
    expectTypeOf<Plain<GuestOrigin>>().toEqualTypeOf<FieldsOf<typeof origins.guest>>()
    expectTypeOf<NonNullable<Entry['blobs']>[string]>().toEqualTypeOf<BlobRef>()
  })

  it("reject an origin that is both a writer's and a guest's", () => {
    const writer = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'helper', step: 1 }
    const good: Origin[] = [writer, { guest: 'ann', runId: 'r', lane: 'main' }]
    // @ts-expect-error A guest has no agent and no step.
    const both: Origin = { guest: 'ann', runId: 'r', lane: 'main', agentId: 'r', agentType: 'helper', step: 1 }
    const guest = { ...writer, guest: 'ann' }
    expectTypeOf(guest).not.toExtend<WriterOrigin>()
    expect([...good, both].map(isGuest)).toEqual([false, true, true])
  })
})
