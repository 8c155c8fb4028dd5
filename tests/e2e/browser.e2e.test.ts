/** The two pages in a real browser: a person buys and pays, an operator watches. Skipped, with the reason, without one. */

import { findChromium } from '@bigtap/engines'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUid, openShop, type Shop } from './shop.ts'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-sync',
]

function obstacle(): string | undefined {
  try {
    findChromium()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const reason = obstacle()

describe.skipIf(reason !== undefined)(`pages in a browser${reason === undefined ? '' : ` (${reason})`}`, () => {
  let shop: Shop
  let browser: Browser
  const faults: string[] = []

  beforeAll(async () => {
    shop = await openShop(1)
    browser = await chromium.launch({ executablePath: findChromium(), args: FLAGS })
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  async function open(url: string): Promise<Page> {
    const page = await browser.newPage()
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(url)
    return page
  }

  test('a buyer signs in, waits for the opening, buys and pays; the operator sees it live', async () => {
    await shop.sell({ stock: 1, opensInMs: 6_000 })
    const page = await open(shop.origin)
    await page.waitForFunction(() => document.querySelector('#clock')?.textContent?.startsWith('Opens in'))
    await page.fill('#uid', `${newUid()}`)
    await page.click('#sign-in button')
    await page.click('.product button:not([disabled])', { timeout: 20_000 })
    await page.click('#actions button', { timeout: 15_000 })
    await page.waitForFunction(() => document.querySelector('#message')?.textContent?.startsWith('Paid'), undefined, {
      timeout: 20_000,
    })
    await page.waitForFunction(() => document.querySelector('.product button')?.textContent === 'Sold out', undefined, {
      timeout: 10_000,
    })
    expect(await page.textContent('#orders')).toContain('paid')

    const console_ = await open(`http://127.0.0.1:${shop.platform.ports.masters[0]}/`)
    await console_.fill('input[type=password]', shop.platform.secrets.operatorPassword)
    await console_.click('button[type=submit]')
    await console_.waitForFunction(() => document.body.textContent?.includes('test sale'), undefined, {
      timeout: 10_000,
    })
    expect(await console_.textContent('body')).toContain('middle-1')
    expect(faults).toEqual([])
  }, 90_000)
})
