import { createContext, useContext } from 'react'

/** Goes to an address of this page. */
export type Go = (address: string) => void

const Context = createContext<Go>(address => location.assign(address))

export const GoProvider = Context.Provider

/** How one gets elsewhere. */
export const useGo = (): Go => useContext(Context)
