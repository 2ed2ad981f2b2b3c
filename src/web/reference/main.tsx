import { mount } from "../shared/render.tsx"
import { App } from "./App.tsx"

mount(<App />)
