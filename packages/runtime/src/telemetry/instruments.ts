import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api'
import type { Guard } from './guard.ts'
import { counter, histogram, SCHEMA_URL, SCOPE } from './semantic-conventions.ts'

interface MeterInstruments {
  readonly provider: MeterProvider
  /** None where nobody listens. */
  readonly histograms: ReadonlyMap<string, Histogram> | undefined
  readonly counters: ReadonlyMap<string, Counter> | undefined
}

/** What is measured. Until somebody registers a provider nothing is, at no cost. */
export class Instruments {
  readonly #guard: Guard
  readonly #provider: MeterProvider | undefined
  #made: MeterInstruments | undefined

  constructor(guard: Guard, provider: MeterProvider | undefined) {
    this.#guard = guard
    this.#provider = provider
  }

  /** Whether anybody listens; the provider of the process may be registered at any time. */
  get isActive(): boolean {
    const provider = this.#provider ?? metrics.getMeterProvider()
    if (this.#made?.provider !== provider) this.#made = this.#make(provider)
    return this.#made.histograms !== undefined
  }

  record(what: keyof typeof histogram, value: number, attributes: Attributes): void {
    if (!this.isActive) return
    this.#guard.attempt('record', () => this.#made?.histograms?.get(what)?.record(value, attributes))
  }

  count(what: keyof typeof counter, attributes: Attributes): void {
    if (!this.isActive) return
    this.#guard.attempt('add', () => this.#made?.counters?.get(what)?.add(1, attributes))
  }

  #make(provider: MeterProvider): MeterInstruments {
    const meter = this.#guard.attempt('getMeter', () => provider.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL }))
    if (!meter || meter === createNoopMeter()) return { provider, histograms: undefined, counters: undefined }
    const histograms = new Map<string, Histogram>()
    const counters = new Map<string, Counter>()
    for (const [what, [name, unit, buckets, description]] of Object.entries(histogram)) {
      const options = { unit, description, advice: { explicitBucketBoundaries: [...buckets] } }
      const made = this.#guard.attempt('createHistogram', () => meter.createHistogram(name, options))
      if (made) histograms.set(what, made)
    }
    for (const [what, [name, unit, description]] of Object.entries(counter)) {
      const made = this.#guard.attempt('createCounter', () => meter.createCounter(name, { unit, description }))
      if (made) counters.set(what, made)
    }
    return { provider, histograms, counters }
  }
}
