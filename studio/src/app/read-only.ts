import { createContext, useContext } from 'react'

const ReadOnly = createContext(false)

/** Wraps views of the past, in which nothing can be changed. */
export const ReadOnlyProvider = ReadOnly.Provider

/** Whether the component is inside a read-only view. */
export const useReadOnly = (): boolean => useContext(ReadOnly)
