export { createLogger } from './logger.ts'
export { systemClock, systemRandom } from './machine.ts'
export { createMetrics, type MetricsRegistry } from './metrics.ts'
export { type OpsSource, startOpsServer } from './ops-server.ts'
export { type ProcessFigures, watchProcess } from './process-figures.ts'
export { type Part, runService, type ServiceContext } from './run-service.ts'
export {
  type Declaration,
  defineSettings,
  describeSettings,
  loadSettings,
  maskSettings,
  type Setting,
  SettingsError,
  type SettingsOf,
  type SettingsSpec,
  setting,
} from './settings.ts'
export { baseSettings, shared } from './shared-settings.ts'
export { createWorker, type Worker, type WorkerSettings } from './worker.ts'
