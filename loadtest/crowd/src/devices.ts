/** What a client says it is. People differ; machines of one owner are alike. Pure. */

/** Headers that a device sends with every request. */
export interface Device {
  /** What it calls itself in `X-Device`; empty: it does not say. */
  readonly id: string
  readonly userAgent: string
  readonly acceptLanguage: string
}

type Draw = () => number

const SYSTEMS = [
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'X11; Linux x86_64',
  'Linux; Android 14; Pixel 8',
  'Linux; Android 13; 2211133C',
  'Linux; Android 14; SM-S918B',
  'Linux; Android 12; M2102J20SG',
]
const VERSIONS = 24
const VERSION_NEWEST = 142
const LANGUAGES = [
  ...['zh-CN,zh;q=0.9', 'zh-CN,zh;q=0.9,en;q=0.8', 'en-US,en;q=0.9', 'en-GB,en;q=0.8', 'de-DE,de;q=0.9,en;q=0.7'],
  ...['es-ES,es;q=0.9', 'hi-IN,hi;q=0.9,en;q=0.6', 'id-ID,id;q=0.9', 'pt-BR,pt;q=0.9', 'ru-RU,ru;q=0.9,en;q=0.5'],
  ...['fr-FR,fr;q=0.9,en;q=0.4', 'vi-VN,vi;q=0.9', 'zh-TW,zh;q=0.9,en;q=0.6', 'it-IT,it;q=0.9'],
]
const TOOLS = [
  'python-requests/2.32.3',
  'Go-http-client/1.1',
  'okhttp/4.12.0',
  'curl/8.5.0',
  'axios/1.7.2',
  'Apache-HttpClient/4.5.14 (Java/17.0.9)',
]

/** A person's browser with a name of its own: some 2,300 kinds, the newest versions most often. */
export function personalDevice(draw: Draw): Device {
  const system = SYSTEMS[Math.floor(draw() * SYSTEMS.length)]
  const version = VERSION_NEWEST - Math.floor(draw() ** 2 * VERSIONS)
  const mobile = system?.includes('Android') ? ' Mobile' : ''
  return {
    id: idOf(draw),
    userAgent: `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0${mobile} Safari/537.36`,
    acceptLanguage: LANGUAGES[Math.floor(draw() * LANGUAGES.length)] ?? '',
  }
}

/** A script: half of them say what they are, half show a browser's name. */
export function scriptDevice(draw: Draw): Device {
  if (draw() < 0.5) return personalDevice(draw)
  return { id: '', userAgent: TOOLS[Math.floor(draw() * TOOLS.length)] ?? '', acceptLanguage: '' }
}

function idOf(draw: Draw): string {
  return Array.from({ length: 2 }, () =>
    Math.floor(draw() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
}
