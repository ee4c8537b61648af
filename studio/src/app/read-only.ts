import { createContext, useContext } from 'react'

const ReadOnly = createContext(false)

/** Around what shows how it was: nothing in there can be changed. */
export const ReadOnlyProvider = ReadOnly.Provider

/** Whether nothing here can be changed. */
export const useReadOnly = (): boolean => useContext(ReadOnly)
