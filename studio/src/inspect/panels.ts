import type { ComponentType } from 'react'
import { Callbacks } from './callbacks/callbacks.tsx'
import { Charts } from './charts/charts.tsx'
import { Entries } from './entries/entries.tsx'
import { Faults } from './faults/faults.tsx'
import { WirePanel } from './wire/wire-panel.tsx'

/** The views of the log, in the order of the tabs. */
export const panels: readonly { readonly name: string; readonly Panel: ComponentType }[] = [
  { name: 'Entries', Panel: Entries },
  { name: 'Charts', Panel: Charts },
  { name: 'Wire', Panel: WirePanel },
  { name: 'Callbacks', Panel: Callbacks },
  { name: 'Faults', Panel: Faults },
]
