import { createContext, useContext } from 'react'

/** Navigates to a URL of this page. */
export type Navigate = (url: string) => void

const Context = createContext<Navigate>(url => location.assign(url))

export const NavigateProvider = Context.Provider

/** Navigates within this page. */
export const useNavigate = (): Navigate => useContext(Context)
