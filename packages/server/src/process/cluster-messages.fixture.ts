// Messages between a test and the processes of its cluster.

/** Tells a process what to be, and on which store. */
export type ClusterOrder =
  | { readonly do: 'serve'; readonly store: string; readonly port: number }
  | { readonly do: 'work'; readonly store: string; readonly leaseMs: number }

/** What a process tells the test. */
export type ClusterEvent =
  | { readonly kind: 'ready'; readonly port?: number }
  | { readonly kind: 'logged'; readonly message: string }
