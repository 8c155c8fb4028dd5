/** What an operator does against crowds, in a real browser: limits, verdicts, figures. Skipped, with the reason, without one. */

import { findChromium } from '@bigtap/engines'
import { waitFor } from '@bigtap/testkit'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Sale, type Shop } from './shop.ts'

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']

function obstacle(): string | undefined {
  try {
    findChromium()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const reason = obstacle()

describe.skipIf(reason !== undefined)(`the console${reason === undefined ? '' : ` (${reason})`}`, () => {
  let shop: Shop
  let sale: Sale
  let browser: Browser
  let page: Page
  const faults: string[] = []

  beforeAll(async () => {
    shop = await openShop(6)
    const limit = { scope: 'global', algorithm: 'token-bucket', seconds: 1, maxCount: 500 }
    sale = await shop.sell({ stock: 5, activity: { accessLimits: [limit] } })
    browser = await chromium.launch({ executablePath: findChromium(), args: FLAGS })
    page = await browser.newPage({ viewport: { width: 1280, height: 1600 } })
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(`http://127.0.0.1:${shop.platform.ports.masters[0]}/`)
    await page.fill('input[type=password]', shop.platform.secrets.operatorPassword)
    await page.click('#sign-in button[type=submit]')
  }, 180_000)

  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  const shows = (selector: string, text: string) =>
    page.waitForFunction(
      ([at, wanted]) => document.querySelector(at as string)?.textContent?.includes(wanted as string),
      [selector, text],
      { timeout: 15_000 },
    )
  const limits = async () => {
    const { accessLimits } = await shop.admin.call<{ accessLimits: unknown[] }>('GET', `activities/${sale.activityId}`)
    return accessLimits
  }

  test('shows each limiter with its share of the budgets and whom it lets in', async () => {
    await shows('#doors', 'limiter-1')
    await shows('#doors', 'limiter-2')
    await shows('#doors', '50.0 %')
    expect(await page.textContent('#doors')).toContain('everybody')
  }, 60_000)

  test('an operator changes the limits of a sale that is open', async () => {
    await page.waitForSelector('#limit-rows [name=maxCount]')
    await page.fill('#limit-rows [name=maxCount]', '400')
    await page.click('#add-limit')
    const row = page.locator('#limit-rows li').last()
    await row.locator('[name=scope]').selectOption('subnet')
    await row.locator('[name=maxCount]').fill('300')
    await page.click('#limits [type=submit]')
    await waitFor('the limits are saved', async () => (await limits()).length === 2)

    expect(await limits()).toEqual([
      { scope: 'global', algorithm: 'token-bucket', seconds: 1, maxCount: 400 },
      { scope: 'subnet', algorithm: 'sliding-window', seconds: 1, maxCount: 300 },
    ])
  }, 60_000)

  test('what is being edited is not overwritten, and a limit that cannot be is said', async () => {
    await page.locator('#limit-rows [name=burst]').last().fill('7')
    await page.waitForTimeout(5_000)
    expect(await page.locator('#limit-rows [name=burst]').last().inputValue()).toBe('7')

    await page.click('#undo-limits')
    await page.waitForFunction(
      () => (document.querySelector('#limit-rows li:last-child [name=burst]') as HTMLInputElement | null)?.value === '',
    )
    expect(await limits()).toHaveLength(2)

    await page.locator('#limit-rows [name=maxCount]').last().fill('2000000000')
    await page.click('#limits [type=submit]')
    await shows('#limits-problem', 'maxCount')
    await page.click('#undo-limits')
  }, 60_000)

  test('an operator sees a verdict, asks why, and lifts it', async () => {
    const wish = { subject: 'subnet:198.51.100', tier: 3, minutes: 10, reason: 'many names from one place' }
    await shop.admin.call('POST', 'verdicts', wish)
    await shows('#verdicts', 'subnet:198.51.100')
    await page.click('#verdicts button:has-text("Explain")')
    await shows('#explanation', 'many names from one place')

    page.once('dialog', (dialog) => void dialog.accept('a school'))
    await page.click('#verdicts button:has-text("Lift")')
    await page.waitForFunction(() => !document.querySelector('#verdicts')?.textContent?.includes('198.51.100'))
    await page.fill('#verdict-subject', 'subnet:198.51.100')
    await page.click('#find-verdict button')
    await shows('#explanation', 'a school')

    expect(faults).toEqual([])
  }, 60_000)
})
