import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { whenAway } from '../api/again.ts'
import { api, must } from '../api/client.ts'
import { boundsOf, piecesOf, type Span, WINDOWS } from './spans.ts'

const OFTEN_MS = 2_000
const SOMETIMES_MS = 5_000
/** Tasks are looked at once a second and nodes every five; finer pieces would be holes. */
const TASK_PIECE_MS = 2_000
const NODE_PIECE_MS = 6_000

export const jobUsage = (job: string, span: Span, task: string | undefined) =>
  queryOptions({
    queryKey: ['job', job, 'usage', span, task],
    queryFn: () => {
      const bounds = boundsOf(span)
      const query = { ...bounds, task, buckets: piecesOf(bounds, TASK_PIECE_MS) }
      return must(api.GET('/api/v1/jobs/{job}/usage', { params: { path: { job }, query } }))
    },
    refetchInterval: span.endMs === null ? OFTEN_MS : whenAway,
    placeholderData: keepPreviousData,
  })

export const clusterUsage = (span: Span) =>
  queryOptions({
    queryKey: ['usage', span],
    queryFn: () => {
      const bounds = boundsOf(span)
      const query = { ...bounds, buckets: piecesOf(bounds, NODE_PIECE_MS) }
      return must(api.GET('/api/v1/usage', { params: { query } }))
    },
    refetchInterval: span.endMs === null ? SOMETIMES_MS : whenAway,
    placeholderData: keepPreviousData,
  })

/** The last quarter of an hour of every node, whenever it is asked for. */
export const recentUsage = () =>
  queryOptions({
    queryKey: ['usage', 'recent'],
    queryFn: () => {
      const to = Date.now()
      const bounds = { from: to - WINDOWS.quarter, to }
      return must(
        api.GET('/api/v1/usage', { params: { query: { ...bounds, buckets: piecesOf(bounds, NODE_PIECE_MS) } } }),
      )
    },
    refetchInterval: SOMETIMES_MS,
  })

export const usageNow = () =>
  queryOptions({
    queryKey: ['usage', 'now'],
    queryFn: () => must(api.GET('/api/v1/usage/now')),
    refetchInterval: OFTEN_MS,
  })
