/** A single Apache Kafka broker (KRaft), fetched by Maven and run by a JDK: no container is needed. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accepts, dataFolder, type Engine, freePort, startEngine } from './process.ts'

/** How to start it. */
export interface KafkaOptions {
  readonly dir?: string
  readonly port?: number
}

const FETCH_MS_MAX = 300_000
const FORMAT_MS_MAX = 60_000
const READY_MS_MAX = 60_000
const CLUSTER_ID = 'YmlndGFwLWJpZ3RhcC0wMQ'
const pom = join(dirname(dirname(fileURLToPath(import.meta.url))), 'kafka.pom.xml')

/** Why no broker can be started here, or undefined when it can be tried. */
export function kafkaObstacle(): string | undefined {
  if (spawnSync('java', ['-version'], { stdio: 'ignore' }).status !== 0)
    return 'a JDK 17 or newer is needed (no java on PATH)'
  if (spawnSync('mvn', ['-v'], { stdio: 'ignore' }).status !== 0)
    return 'Maven is needed to fetch the broker (no mvn on PATH)'
  return undefined
}

/** Fetches what is missing and starts the broker; rejects with one clear line when it cannot be had. */
export async function startKafka(options: KafkaOptions = {}): Promise<Engine> {
  const obstacle = kafkaObstacle()
  if (obstacle !== undefined) throw new Error(`Kafka cannot be started: ${obstacle}`)
  const jars = fetchBroker()
  const folder = dataFolder(options.dir, 'kafka')
  const { dir } = folder
  const port = options.port ?? (await freePort())
  const config = join(dir, 'server.properties')
  writeFileSync(config, properties(dir, port, await freePort()))
  const java = ['-Xmx512m', '-Xms128m', '-cp', join(jars, '*')]
  if (!existsSync(join(dir, 'log', 'meta.properties'))) {
    const args = [...java, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', config]
    const done = spawnSync('java', args, { timeout: FORMAT_MS_MAX, encoding: 'utf8' })
    if (done.status !== 0)
      throw new Error(`Kafka's storage could not be formatted: ${`${done.stdout}${done.stderr}`.trimEnd()}`)
  }
  return startEngine({
    name: 'kafka',
    command: 'java',
    args: [...java, 'kafka.Kafka', config],
    port,
    folder,
    url: `127.0.0.1:${port}`,
    readyMsMax: READY_MS_MAX,
    isReady: () => accepts(port),
  })
}

/** The folder with the broker's jars; the fetch is done once for each version of the pom's broker. */
function fetchBroker(): string {
  const jars = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'bigtap', 'kafka-4.1.0')
  if (existsSync(join(jars, 'complete'))) return jars
  console.error('setup: fetching the Kafka broker with Maven')
  const partial = mkdtempSync(join(tmpdir(), 'bigtap-kafka-jars-'))
  const args = [
    '-q',
    '-B',
    '-f',
    pom,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${partial}`,
    '-DincludeScope=runtime',
  ]
  const done = spawnSync('mvn', args, { timeout: FETCH_MS_MAX, encoding: 'utf8' })
  if (done.status !== 0 || readdirSync(partial).length === 0) {
    const said = `${done.stdout}${done.stderr}`.split('\n').find((line) => line.includes('ERROR'))
    throw new Error(`Maven could not fetch the Kafka broker: ${said ?? done.error?.message ?? 'no output'}`)
  }
  mkdirSync(jars, { recursive: true })
  for (const jar of readdirSync(partial)) spawnSync('cp', [join(partial, jar), join(jars, jar)])
  rmSync(partial, { recursive: true, force: true })
  writeFileSync(join(jars, 'complete'), '')
  return jars
}

function properties(dir: string, port: number, controllerPort: number): string {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(dir, 'log'),
    'num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'auto.create.topics.enable': false,
  }
  return `${Object.entries(settings)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`
}
